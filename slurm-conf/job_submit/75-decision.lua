-- The decision --------------------------------------------------------------------------------------

local function decide(request)
	local now = os.time()
	local tenant = tenant_of(request)
	local notes = request.budget_settled and {} or budget_notes(tenant, now)
	local gpus = read_gpus(request)
	local partition, flavor = placed(request, tenant, gpus)
	local class = class_of(request, tenant)
	local job = {
		tenant = tenant, class = class, partition = partition, flavor = flavor, gpus = least_gpus(request, gpus),
	}
	within_limits(request, job)
	within_share(request, job)
	if request.private_nodes then
		refuse("node.private", "--exclusive=user, mcs or topo keeps others from GPUs that nobody is charged for;"
			.. " write --exclusive, or leave it out")
	end
	if request.exclusive then
		whole_nodes(request, job)
	end
	local limit = time_limit_of(request, job)
	notes[#notes + 1] = maintenance_note(request, partition, limit, now)
	local decision = typed(request, gpus, rules.flavor_type[flavor] or "")
	decision.account = tenant.name
	decision.partition = partition
	decision.qos = class == "production" and PRODUCTION .. tenant.name or class
	decision.time_limit = limit
	decision.notes = notes
	return decision
end

