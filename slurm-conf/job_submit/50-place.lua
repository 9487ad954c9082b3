-- Who and where ----------------------------------------------------------------------------------------

local function tenant_of(request)
	local user = rules.users[request.user]
	if not user then
		refuse("user.unknown", "user %s is not a member of any tenant; ask a manager of your tenant to add you",
			shown(request.user))
	end
	local account = request.account
	if not account or account == "" then
		account = user.default
	end
	if not user.member[account] then
		refuse("account.foreign", "user %s is not a member of a tenant %s; name one of your own with"
			.. " --account (%s) or leave it out", shown(request.user), shown(account), listed(user.tenants))
	end
	return rules.tenants[account]
end

local function granted(tenant, flavor)
	if not tenant.limit[flavor] then
		refuse("flavor.grant", "tenant %s has no %s GPUs; its flavors are %s",
			tenant.name, flavor, listed(tenant.flavors))
	end
end

local function partition_flavors(partition)
	local flavors, seen = {}, {}
	for _, name in ipairs(split(partition)) do
		local flavor = rules.partition_flavor[name]
		if name ~= "" and not flavor then
			refuse("partition.unknown", "there is no partition %s for tenants; partitions are %s",
				shown(name), listed(rules.partitions))
		end
		if flavor and not seen[flavor] then
			seen[flavor] = true
			flavors[#flavors + 1] = flavor
		end
	end
	return flavors
end

-- A site's old partitions, by the names of those that they mean.
local function real_names(partition)
	local names = split(partition)
	for index, name in ipairs(names) do
		names[index] = not rules.partition_flavor[name] and rules.partition_alias[name] or name
	end
	return table.concat(names, ",")
end

-- The first flavor with GPUs for a job that wants some, else one without, so that none idle.
local function first_flavor(tenant, gpus)
	local first
	for _, flavor in ipairs(tenant.flavors) do
		if not rules.cpu_flavors[flavor] then
			first = first or flavor
		elseif not gpus.wanted then
			return flavor
		end
	end
	return first
end

local function one_kind(gpus, asked, partition, flavors)
	if asked and (#flavors > 1 or flavors[1] ~= asked) then
		refuse("partition.contradicts", "the job asks for %s GPUs in partition %s; write --partition=%s,"
			.. " or leave the partition out", asked, shown(partition), rules.flavor_partition[asked])
	end
	if not gpus.wanted then
		return
	end
	for _, flavor in ipairs(flavors) do
		if rules.cpu_flavors[flavor] then
			refuse("partition.gpus", "the job asks for GPUs, and partition %s has nodes without any; name another"
				.. " one, or leave the partition out", shown(partition))
		end
	end
	if #flavors > 1 then
		refuse("gpu.untyped", "partitions %s have different GPUs and the job does not say which; name one"
			.. " partition, or write --gpus=TYPE:NUMBER and leave the partition out", shown(partition))
	end
end

-- Partition and flavor: what is asked, else what the other one says, else the tenant's first.
local function placed(request, tenant, gpus)
	local asked
	if gpus.gres_type then
		asked = rules.type_flavor[gpus.gres_type]
		if not asked then
			refuse("flavor.unknown", "the pool has no GPUs of type %s; its types are %s",
				shown(gpus.gres_type), listed(rules.types))
		end
	end
	local partition = real_names(request.partition)
	local flavors = partition_flavors(partition)
	if #flavors == 0 then
		local flavor = asked or first_flavor(tenant, gpus)
		if not flavor then
			refuse("flavor.none", "tenant %s has no GPUs of any flavor; have a grant added to it", tenant.name)
		end
		granted(tenant, flavor)
		return rules.flavor_partition[flavor], flavor
	end
	for _, flavor in ipairs(flavors) do
		granted(tenant, flavor)
	end
	one_kind(gpus, asked, partition, flavors)
	return partition, flavors[1]
end

local function class_of(request, tenant)
	local qos = request.qos
	if not qos or qos == "" then
		return tenant.default_class
	end
	local class = SHARED_CLASSES[qos] and qos
	if qos == "production" or qos:sub(1, #PRODUCTION) == PRODUCTION then
		class = "production"
	end
	class = class or rules.qos_alias[qos]
	if not class then
		refuse("class.unknown", "there is no class %s; classes of tenant %s are %s",
			shown(qos), tenant.name, listed(tenant.classes))
	end
	if qos:sub(1, #PRODUCTION) == PRODUCTION and qos ~= PRODUCTION .. tenant.name then
		refuse("class.foreign", "QOS %s is not tenant %s's; write --qos=production", shown(qos), tenant.name)
	end
	if not tenant.may[class] then
		refuse("class.allowed", "tenant %s may not use class %s; its classes are %s",
			tenant.name, class, listed(tenant.classes))
	end
	return class
end

