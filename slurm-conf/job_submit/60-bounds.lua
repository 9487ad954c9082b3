-- How much and how long -----------------------------------------------------------------------------

local function unit_of(flavor)
	return rules.cpu_flavors[flavor] and "CPUs" or "GPUs"
end

local function within_limits(request, job)
	local tenant, flavor, count, unit = job.tenant, job.flavor, job.gpus, unit_of(job.flavor)
	if unit == "CPUs" then
		count = least_cpus(request, count)
	end
	local limit = tenant.limit[flavor]
	if count > limit then
		refuse("flavor.limit", "tenant %s may use %d %s %s at once, this job asks %.0f; ask fewer or have"
			.. " the limit raised", tenant.name, limit, flavor, unit, count)
	end
	for _, name in ipairs(tenant.ancestors) do
		local above = rules.tenants[name].limit[flavor] or 0
		if count > above then
			refuse("parent.limit", "tenant %s, which is above %s, may use %d %s %s at once, this job asks %.0f;"
				.. " ask fewer or have its limit raised", name, tenant.name, above, flavor, unit, count)
		end
	end
	if tenant.max_gpus_per_job and job.gpus > tenant.max_gpus_per_job then
		refuse("job.gpus", "tenant %s allows %d GPUs in one job, this job asks %.0f; ask fewer or have"
			.. " limits.max_gpus_per_job raised", tenant.name, tenant.max_gpus_per_job, job.gpus)
	end
	if job.class == "production" and count > tenant.guarantee[flavor] then
		refuse("production.guarantee", "production jobs of tenant %s run on its %d guaranteed %s %s, this"
			.. " job asks %.0f; ask fewer or use another class",
			tenant.name, tenant.guarantee[flavor], flavor, unit, count)
	end
end

local function first_of(partition)
	return partition:match("[^,]+")
end

-- What goes with one GPU, times the job's; nil when everything goes.
local function shared_units(request, job, share)
	if job.gpus > 0 then
		return job.gpus, string.format("%.0f %s GPUs", job.gpus, job.flavor),
			"ask for less of it, or for more GPUs"
	end
	if share.without == "allow" then
		return nil
	end
	if share.without == "refuse" then
		refuse("gpu.none", "partition %s is for jobs with GPUs, and this one asks for none; ask for some with"
			.. " --gpus, or name a partition without GPUs", job.partition)
	end
	local nodes = least_nodes(request)
	return nodes, string.format("a job without GPUs on %.0f nodes of partition %s", nodes, job.partition),
		"ask for less of it, or for GPUs"
end

-- A whole node's job is charged for all of its GPUs.
local function within_share(request, job)
	local share = rules.shares[job.flavor]
	if not share or request.exclusive then
		return
	end
	local units, whose, remedy = shared_units(request, job, share)
	if not units then
		return
	end
	local cpus = least_cpus(request, job.gpus)
	if share.cpus and cpus > units * share.cpus then
		refuse("gpu.cpus", "%.0f CPUs go with %s, so that no GPU is left without, and this job asks %.0f; %s",
			units * share.cpus, whose, cpus, remedy)
	end
	local memory = least_memory(request, job.gpus, rules.node_memory[first_of(job.partition)] or 0)
	if share.memory and memory > units * share.memory then
		refuse("gpu.memory", "%.0f MiB of memory go with %s, so that no GPU is left without, and this job asks"
			.. " %.0f; %s", units * share.memory, whose, memory, remedy)
	end
end

local function whole_nodes_of(name, flavor, most, held)
	if held > most then
		refuse("node.exclusive", "--exclusive takes all %.0f %s %s of its nodes, and tenant %s may use %d"
			.. " for this job; leave --exclusive out", held, flavor, unit_of(flavor), name, most)
	end
end

-- Slurm allocates every GPU of a whole node, asked or not (measured), so all of them are judged.
local function whole_nodes(request, job)
	local tenant, nodes = job.tenant, least_nodes(request)
	local own = job.class == "production" and tenant.guarantee or tenant.limit
	for _, pair in ipairs(rules.node_gpus[first_of(job.partition)] or {}) do
		local flavor, held = pair[1], nodes * pair[2]
		whole_nodes_of(tenant.name, flavor, own[flavor] or 0, held)
		for _, name in ipairs(tenant.ancestors) do
			whole_nodes_of(name, flavor, rules.tenants[name].limit[flavor] or 0, held)
		end
	end
end

local function time_limit_of(request, job)
	local asked, tenant, class = request.time_limit, job.tenant, job.class
	if not asked then
		return tenant.default_min[class]
	end
	local longest = tenant.max_min[class]
	if request.time_settled or not longest or asked <= longest then -- INFINITE is above every limit
		return asked
	end
	local words = asked == INFINITE and "no limit" or string.format("%.0f minutes", asked)
	refuse("walltime.limit", "jobs of class %s of tenant %s run at most %d minutes, this job asks %s; write"
		.. " --time=%d or less", class, tenant.name, longest, words, longest)
end

