--[[ Sluice's one enforcement point: slurmctld asks it about every job of every door.

What flows in: the job as it is asked (desc) and the table that the bridge renders from the tenant
documents (table.lua beside this file's target). What flows out: account, partition, QOS, time limit and
typed GPU requests filled in, or a refusal with one sentence that names the rule and the remedy.

The same rules in Python are bridge/policy/{decide,gpus}.py; tests/unit/policy/test_two_copies.py demands
equal decisions, word for word. What doesn't belong here: limits that are sums (Slurm's associations hold
them) and anything that reads the world.

slurmctld loads this file again when its mtime changes (src/lua/slurm_lua.c): the bridge renames a new
table into place, then touches this file. Lua 5.1, as Debian's slurmctld is linked.
]]

local POLICY_DIR = SLUICE_POLICY_DIR or "/var/lib/sluice/policy" -- the global is set by tests only
local SITE_SCRIPT = SLUICE_SITE_SCRIPT or "/etc/slurm/site.lua" -- likewise
local FORMAT = 2
local ADMINISTRATORS_WITHOUT_TABLE = { [0] = true, [64030] = true } -- root and SlurmUser

local JOB_SHARED_NONE = 0 -- --exclusive
local PRIVATE_NODES = { [2] = true, [3] = true, [4] = true } -- --exclusive=user, mcs, topo
local NO_VAL16, INFINITE16 = 65534, 65535
local NO_VAL, INFINITE = 4294967294, 4294967295
local TRES_FIELDS = { "tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task" }
local SHARED_GRES = { shard = true, mps = true }
local PRODUCTION = "production-"
local SHARED_CLASSES = { training = true, development = true, batch = true }

-- What Slurm says after our sentence, by rule.
local ERRNO = {
	["user.unknown"] = "ESLURM_INVALID_ACCOUNT",
	["account.foreign"] = "ESLURM_INVALID_ACCOUNT",
	["gpu.syntax"] = "ESLURM_INVALID_GRES",
	["gpu.shared"] = "ESLURM_INVALID_GRES",
	["gpu.several-types"] = "ESLURM_INVALID_GRES",
	["gpu.twice"] = "ESLURM_INVALID_GRES",
	["gpu.untyped"] = "ESLURM_INVALID_GRES",
	["gpu.change"] = "ESLURM_INVALID_GRES",
	["flavor.unknown"] = "ESLURM_INVALID_GRES",
	["flavor.none"] = "ESLURM_ACCESS_DENIED",
	["flavor.grant"] = "ESLURM_ACCESS_DENIED",
	["flavor.limit"] = "ESLURM_ACCOUNTING_POLICY",
	["parent.limit"] = "ESLURM_ACCOUNTING_POLICY",
	["job.gpus"] = "ESLURM_ACCOUNTING_POLICY",
	["production.guarantee"] = "ESLURM_ACCOUNTING_POLICY",
	["node.exclusive"] = "ESLURM_ACCOUNTING_POLICY",
	["node.private"] = "ESLURM_ACCOUNTING_POLICY",
	["partition.unknown"] = "ESLURM_INVALID_PARTITION_NAME",
	["partition.contradicts"] = "ESLURM_INVALID_PARTITION_NAME",
	["class.unknown"] = "ESLURM_INVALID_QOS",
	["class.foreign"] = "ESLURM_INVALID_QOS",
	["class.allowed"] = "ESLURM_INVALID_QOS",
	["walltime.limit"] = "ESLURM_INVALID_TIME_LIMIT",
	["table.missing"] = "ESLURM_ACCESS_DENIED",
}

-- Reading the table --------------------------------------------------------------------------------

local TABLE_KEYS = {
	"administrators", "flavor_partition", "flavor_type", "partition_flavor",
	"partition_alias", "qos_alias", "type_flavor", "node_gpus", "partitions", "types", "strangers",
	"tenants", "users",
}

local function load_table(path)
	local chunk, why = loadfile(path)
	if not chunk then
		return nil, why
	end
	setfenv(chunk, {}) -- data only: the file can call nothing
	local fine, found = pcall(chunk)
	if not fine then
		return nil, found
	end
	if type(found) ~= "table" or found.format ~= FORMAT then
		return nil, path .. ": not a table of format " .. FORMAT
	end
	for _, key in ipairs(TABLE_KEYS) do
		if type(found[key]) ~= "table" then
			return nil, path .. ": " .. key .. " is missing"
		end
	end
	return found
end

local function last_good_table()
	local found, why = load_table(POLICY_DIR .. "/table.lua")
	if found then
		return found
	end
	slurm.log_error("sluice: the tenant table is not usable: %s", tostring(why))
	found, why = load_table(POLICY_DIR .. "/table.previous.lua")
	if found then
		slurm.log_error("sluice: the previous tenant table stays in force")
		return found
	end
	slurm.log_error("sluice: only administrators may submit: %s", tostring(why))
	return nil
end

local rules = last_good_table()

-- The site's own script -----------------------------------------------------------------------------

-- A site's job_submit.lua, under this name, judges each job before us; its globals are its own.
local function load_site()
	local file = io.open(SITE_SCRIPT, "r")
	if not file then
		return {}
	end
	file:close()
	local chunk, why = loadfile(SITE_SCRIPT)
	local site = setmetatable({}, { __index = _G })
	local fine = chunk ~= nil
	if fine then
		setfenv(chunk, site)
		fine, why = pcall(chunk)
	end
	if fine then
		return site
	end
	slurm.log_error("sluice: %s is not usable, so only administrators submit: %s", SITE_SCRIPT, tostring(why))
	return nil
end

local site = load_site()

-- The site's verdict: slurm.SUCCESS, or what it refuses with.
local function of_site(name, submit_uid, ...)
	local judge = site and rawget(site, name)
	if judge then
		local fine, code = pcall(judge, ...)
		if fine then
			return code
		end
		slurm.log_error("sluice: %s failed: %s", SITE_SCRIPT, tostring(code))
	elseif site or ADMINISTRATORS_WITHOUT_TABLE[submit_uid] then
		return slurm.SUCCESS
	end
	slurm.log_user("%s", "this job could not be judged because of a fault in the site's own rules; tell the"
		.. " administrator (rule site)")
	return slurm.ERROR
end

-- What is noted below mode enforce ----------------------------------------------------------------

local observed = {} -- tenant and rule to how often, since this script was loaded

-- What the rules would have said is logged and, in mode warn, told the user.
local function note(tenant, refusal)
	if type(refusal) ~= "table" or not refusal.rule then
		slurm.log_error("sluice: job_submit.lua failed: %s", tostring(refusal))
		return
	end
	local key = tenant.name .. " " .. refusal.rule
	observed[key] = (observed[key] or 0) + 1
	slurm.log_info("sluice: mode %s of tenant %s: rule %s, %d times by now: %s",
		tenant.mode, tenant.name, refusal.rule, observed[key], refusal.sentence)
	if tenant.mode == "warn" then
		slurm.log_user("%s", refusal.sentence)
	end
end

-- Words --------------------------------------------------------------------------------------------

local function refuse(rule, sentence, ...)
	error({ rule = rule, sentence = string.format(sentence, ...) .. " (rule " .. rule .. ")" })
end

local function shown(text)
	if #text >= 1 and #text <= 60 and not text:find("[^%w._,:=/@+-]") then
		return text
	end
	return "(unreadable)"
end

local function listed(names)
	return #names > 0 and table.concat(names, ", ") or "none"
end

local function split(text)
	local parts = {}
	for part in ((text or "") .. ","):gmatch("([^,]*),") do
		parts[#parts + 1] = part
	end
	return parts
end

-- GPUs ---------------------------------------------------------------------------------------------

local function unreadable(part)
	refuse("gpu.syntax", "the GPU request %s can't be read; write it as --gpus=TYPE:NUMBER", shown(part))
end

-- Slurm looks for "gres" anywhere in an entry (slurm_get_next_tres), so an entry that mentions it and
-- isn't plainly written is refused: it would slip past the limits.
local function read_item(part)
	if not part:find("gres") then
		return nil
	end
	local rest = part:match("^gres/(.*)$")
	if not rest or rest:find("gres") then
		unreadable(part)
	end
	local name = rest:match("^[^:=]*")
	if SHARED_GRES[name] then
		refuse("gpu.shared", "parts of GPUs (%s) are not given out here; ask for whole ones with --gpus", name)
	end
	if name ~= "gpu" then
		return nil
	end
	local tail = rest:sub(#"gpu" + 1)
	if tail == "" then
		return { count = 1, written = "" }
	end
	local digits = tail:match("^[:=](%d+)$")
	if digits and #digits <= 6 then
		return { count = tonumber(digits), written = tail }
	end
	local gres_type = tail:match("^:([%w._-]+)$")
	if gres_type then
		return { gres_type = gres_type, count = 1 }
	end
	gres_type, digits = tail:match("^:([%w._-]+)[:=](%d+)$")
	if gres_type and #digits <= 6 then
		return { gres_type = gres_type, count = tonumber(digits) }
	end
	unreadable(part)
end

-- GPUs that slurmctld makes of tasks and --ntasks-per-gpu, always without a type
-- (src/interfaces/gres.c, gres_job_state_validate).
local function derived_gpus(request)
	local per_gpu = request.ntasks_per_gpu or 0
	if per_gpu == 0 then
		return 0
	end
	local ntasks = request.ntasks
	if not ntasks and request.nodes_min and request.nodes_min == request.nodes_max then
		ntasks = request.nodes_min * per_gpu
	end
	if not ntasks or ntasks % per_gpu ~= 0 then
		return 0
	end
	return ntasks / per_gpu
end

local function read_gpus(request)
	local gpus = { items = {}, derived = 0, wanted = false }
	local types, twice = {}, false
	for _, field in ipairs(TRES_FIELDS) do
		for _, part in ipairs(split(request[field])) do
			local item = read_item(part)
			if item then
				twice = twice or gpus.items[field] ~= nil
				gpus.items[field] = gpus.items[field] or item
				gpus.wanted = true
				if item.gres_type and not types[item.gres_type] then
					types[item.gres_type] = true
					types[#types + 1] = item.gres_type
				end
			end
		end
	end
	if #types > 1 then
		table.sort(types)
		refuse("gpu.several-types", "the job asks for GPUs of several types (%s); ask for one type,"
			.. " or make each type a component of its own with hetjob", listed(types))
	end
	if twice then
		refuse("gpu.twice", "the job asks for GPUs twice in one option; write one entry")
	end
	gpus.gres_type = types[1]
	if not gpus.wanted then
		gpus.derived = derived_gpus(request)
		gpus.wanted = gpus.derived > 0
	end
	return gpus
end

local function some(number)
	return number and number > 0
end

local function least_nodes(request)
	local nodes = some(request.nodes_min) and request.nodes_min or 1
	if some(request.ntasks) and some(request.ntasks_per_node) then
		nodes = math.max(nodes, math.ceil(request.ntasks / request.ntasks_per_node))
	end
	return nodes
end

local function least_gpus(request, gpus)
	local nodes = least_nodes(request)
	local sockets = nodes
	if some(request.sockets_per_node) then
		sockets = nodes * request.sockets_per_node
	elseif some(request.ntasks) and some(request.ntasks_per_socket) then
		sockets = math.max(nodes, math.ceil(request.ntasks / request.ntasks_per_socket))
	end
	local tasks = nodes * (some(request.ntasks_per_node) and request.ntasks_per_node or 1)
	if some(request.ntasks) then
		tasks = request.ntasks
	end
	local factors = {
		tres_per_job = 1, tres_per_node = nodes, tres_per_socket = sockets, tres_per_task = tasks,
	}
	local most = gpus.derived
	for field, item in pairs(gpus.items) do
		most = math.max(most, item.count * factors[field])
	end
	return most
end

local function typed(request, gpus, gres_type)
	local strings = {}
	for _, field in ipairs(TRES_FIELDS) do
		strings[field] = request[field]
		local item = gpus.items[field]
		if item and not item.gres_type then
			local parts = split(request[field])
			for index, part in ipairs(parts) do
				if part == "gres/gpu" .. item.written then
					parts[index] = "gres/gpu:" .. gres_type .. item.written
				end
			end
			strings[field] = table.concat(parts, ",")
		end
	end
	if gpus.derived > 0 then
		local entry = string.format("gres/gpu:%s:%d", gres_type, gpus.derived)
		local asked = strings.tres_per_job
		strings.tres_per_job = (asked and asked ~= "") and (asked .. "," .. entry) or entry
	end
	return strings
end

-- The rules ----------------------------------------------------------------------------------------

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
	if not tenant.limit_gpus[flavor] then
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
		local flavor = asked or tenant.flavors[1]
		if not flavor then
			refuse("flavor.none", "tenant %s has no GPUs of any flavor; have a grant added to it", tenant.name)
		end
		granted(tenant, flavor)
		return rules.flavor_partition[flavor], flavor
	end
	for _, flavor in ipairs(flavors) do
		granted(tenant, flavor)
	end
	if asked and (#flavors > 1 or flavors[1] ~= asked) then
		refuse("partition.contradicts", "the job asks for %s GPUs in partition %s; write --partition=%s,"
			.. " or leave the partition out", asked, shown(partition), rules.flavor_partition[asked])
	end
	if gpus.wanted and #flavors > 1 then
		refuse("gpu.untyped", "partitions %s have different GPUs and the job does not say which; name one"
			.. " partition, or write --gpus=TYPE:NUMBER and leave the partition out", shown(partition))
	end
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

local function within_limits(tenant, flavor, class, count)
	local limit = tenant.limit_gpus[flavor]
	if count > limit then
		refuse("flavor.limit", "tenant %s may use %d %s GPUs at once, this job asks %.0f; ask fewer or have"
			.. " the limit raised", tenant.name, limit, flavor, count)
	end
	for _, name in ipairs(tenant.ancestors) do
		local above = rules.tenants[name].limit_gpus[flavor] or 0
		if count > above then
			refuse("parent.limit", "tenant %s, which is above %s, may use %d %s GPUs at once, this job asks %.0f;"
				.. " ask fewer or have its limit raised", name, tenant.name, above, flavor, count)
		end
	end
	if tenant.max_gpus_per_job and count > tenant.max_gpus_per_job then
		refuse("job.gpus", "tenant %s allows %d GPUs in one job, this job asks %.0f; ask fewer or have"
			.. " limits.max_gpus_per_job raised", tenant.name, tenant.max_gpus_per_job, count)
	end
	if class == "production" and count > tenant.guarantee_gpus[flavor] then
		refuse("production.guarantee", "production jobs of tenant %s run on its %d guaranteed %s GPUs, this"
			.. " job asks %.0f; ask fewer or use another class",
			tenant.name, tenant.guarantee_gpus[flavor], flavor, count)
	end
end

local function whole_nodes_of(name, allowed, flavor, nodes, held)
	local most = allowed[flavor] or 0
	if nodes * held > most then
		refuse("node.exclusive", "--exclusive takes all %.0f %s GPUs of %.0f nodes, and tenant %s may use %d"
			.. " for this job; leave --exclusive out", nodes * held, flavor, nodes, name, most)
	end
end

-- Slurm allocates every GPU of a whole node, asked or not (measured), so all of them are judged.
local function whole_nodes(tenant, partition, class, nodes)
	local first = partition:match("[^,]+")
	local own = class == "production" and tenant.guarantee_gpus or tenant.limit_gpus
	for _, pair in ipairs(rules.node_gpus[first] or {}) do
		local flavor, held = pair[1], pair[2]
		whole_nodes_of(tenant.name, own, flavor, nodes, held)
		for _, name in ipairs(tenant.ancestors) do
			whole_nodes_of(name, rules.tenants[name].limit_gpus, flavor, nodes, held)
		end
	end
end

local function time_limit_of(request, tenant, class)
	local asked = request.time_limit
	if not asked then
		return tenant.default_min[class]
	end
	local longest = tenant.max_min[class]
	if not longest or asked <= longest then -- INFINITE is above every limit
		return asked
	end
	local words = asked == INFINITE and "no limit" or string.format("%.0f minutes", asked)
	refuse("walltime.limit", "jobs of class %s of tenant %s run at most %d minutes, this job asks %s; write"
		.. " --time=%d or less", class, tenant.name, longest, words, longest)
end

local function decide(request)
	local tenant = tenant_of(request)
	local gpus = read_gpus(request)
	local partition, flavor = placed(request, tenant, gpus)
	local class = class_of(request, tenant)
	within_limits(tenant, flavor, class, least_gpus(request, gpus))
	if request.private_nodes then
		refuse("node.private", "--exclusive=user, mcs or topo keeps others from GPUs that nobody is charged for;"
			.. " write --exclusive, or leave it out")
	end
	if request.exclusive then
		whole_nodes(tenant, partition, class, least_nodes(request))
	end
	local decision = typed(request, gpus, rules.flavor_type[flavor])
	decision.account = tenant.name
	decision.partition = partition
	decision.qos = class == "production" and PRODUCTION .. tenant.name or class
	decision.time_limit = time_limit_of(request, tenant, class)
	return decision
end

-- Modes --------------------------------------------------------------------------------------------

-- Whose mode counts: the tenant that is asked, else the user's default one, else what stands for strangers.
local function asked_tenant(request)
	local user = rules.users[request.user]
	if not user then
		return rules.strangers
	end
	return rules.tenants[user.member[request.account] and request.account or user.default]
end

-- The decision, nil when the job goes on as it was asked.
local function judged(request)
	local tenant = asked_tenant(request)
	if tenant.mode == "enforce" then
		return decide(request)
	end
	local fine, refusal = pcall(decide, request)
	if not fine then
		note(tenant, refusal)
	end
	return nil
end

-- Slurm's side -------------------------------------------------------------------------------------

local function number32(value)
	if value and value ~= NO_VAL and value ~= INFINITE then
		return value
	end
end

local function number16(value)
	if value and value ~= NO_VAL16 and value ~= INFINITE16 then
		return value
	end
end

local function request_of(desc)
	local request = {
		user = desc.user_name or string.format("uid:%.0f", desc.user_id or -1),
		account = desc.account,
		partition = desc.partition,
		qos = desc.qos,
		time_limit = desc.time_limit ~= NO_VAL and desc.time_limit or nil,
		nodes_min = number32(desc.min_nodes),
		nodes_max = number32(desc.max_nodes),
		ntasks = number32(desc.num_tasks),
		ntasks_per_node = number16(desc.ntasks_per_node),
		ntasks_per_socket = number16(desc.ntasks_per_socket),
		ntasks_per_gpu = number16(desc.ntasks_per_tres),
		sockets_per_node = number16(desc.sockets_per_node),
		exclusive = desc.shared == JOB_SHARED_NONE or nil,
		private_nodes = PRIVATE_NODES[desc.shared],
	}
	for _, field in ipairs(TRES_FIELDS) do
		request[field] = desc[field]
	end
	return request
end

local FILLED = { "account", "partition", "qos", "time_limit", unpack(TRES_FIELDS) }

local function submitted(desc)
	if not rules then
		refuse("table.missing", "no tenants are set up yet, so nobody may submit; tell the administrator")
	end
	local decision = judged(request_of(desc))
	if not decision then
		return
	end
	for _, field in ipairs(FILLED) do
		if decision[field] ~= desc[field] then
			desc[field] = decision[field]
		end
	end
end

-- slurmctld's record has no name (seen: nil); desc has the owner's, unless the client sent another uid.
local function owner(desc, job)
	if desc.user_id == job.user_id and desc.user_name then
		return desc.user_name
	end
	return string.format("uid:%.0f", job.user_id or -1)
end

-- Of a change: slurmctld's record shows neither tasks nor sockets (seen: nil), so GPUs for each can't be counted.
local function asks_gpus(text)
	return text and text:find("gres/gpu")
end

-- A user's change: the job as it would be is judged. Its time limit only when the change names one; of
-- the rest only what the change names is written back.
local function modified(desc, job)
	local change = request_of(desc)
	change.user = nil
	if next(change) == nil then
		return
	end
	if not rules then
		refuse("table.missing", "no tenants are set up yet, so nobody may submit; tell the administrator")
	end
	local request = {
		user = owner(desc, job),
		account = job.account,
		partition = job.partition,
		qos = job.qos,
		nodes_min = number32(job.min_nodes),
		nodes_max = number32(job.max_nodes),
	}
	for _, field in ipairs(TRES_FIELDS) do
		request[field] = job[field]
	end
	for field, value in pairs(change) do
		request[field] = value
	end
	local decision = judged(request)
	if not decision then
		return
	end
	if asks_gpus(change.tres_per_task) or asks_gpus(change.tres_per_socket) then
		refuse("gpu.change", "a change can't ask for GPUs per task or socket, since the rules don't see how many"
			.. " of them the job has; ask for them in all or per node, or submit the job anew")
	end
	for _, field in ipairs(FILLED) do
		if change[field] and decision[field] ~= change[field] then
			desc[field] = decision[field]
		end
	end
end

local function administrator(uid)
	local known = rules and rules.administrators or ADMINISTRATORS_WITHOUT_TABLE
	return known[uid] == true
end

-- Whatever goes wrong in here refuses the job with one sentence, and the log has the reason.
local function guarded(judge, ...)
	local fine, refusal = pcall(judge, ...)
	if fine then
		return slurm.SUCCESS
	end
	if type(refusal) == "table" and refusal.rule then
		slurm.log_info("sluice: refused by rule %s: %s", refusal.rule, refusal.sentence)
		slurm.log_user("%s", refusal.sentence)
		return slurm[ERRNO[refusal.rule]] or slurm.ERROR
	end
	slurm.log_error("sluice: job_submit.lua failed: %s", tostring(refusal))
	slurm.log_user("%s", "this job could not be judged because of a fault in the tenant rules; tell the"
		.. " administrator (rule internal)")
	return slurm.ERROR
end

function slurm_job_submit(desc, part_list, submit_uid)
	local code = of_site("slurm_job_submit", submit_uid, desc, part_list, submit_uid)
	if code ~= slurm.SUCCESS then
		return code
	end
	return guarded(function()
		if not administrator(desc.user_id) then
			submitted(desc)
		end
	end)
end

function slurm_job_modify(desc, job, part_list, modify_uid)
	local code = of_site("slurm_job_modify", modify_uid, desc, job, part_list, modify_uid)
	if code ~= slurm.SUCCESS then
		return code
	end
	return guarded(function()
		if not administrator(modify_uid) then
			modified(desc, job)
		end
	end)
end

return slurm.SUCCESS
