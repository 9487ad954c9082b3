--[[ Sluice's one enforcement point: slurmctld asks it about every job of every door.

What flows in: the job as it is asked (desc) and the table that the bridge renders from the tenant
documents (table.lua beside this file's target). What flows out: account, partition, QOS, time limit and
typed GPU requests filled in, or a refusal with one sentence that names the rule and the remedy.

The same rules in Python are in bridge/policy (decide.py and what it imports); a property test demands equal
decisions, word for word. What doesn't belong here: limits that are sums (Slurm's associations hold
them) and anything that reads the world.

The bridge puts the files of slurm-conf/job_submit behind each other, by their names, into one
job_submit.lua (bridge/policy/script.py): slurmctld loads one file, and an upgrade never mixes two versions.
slurmctld loads that file again when its mtime changes (src/lua/slurm_lua.c): the bridge renames a new
table into place, then touches this file. Lua 5.1, as Debian's slurmctld is linked.
]]

local POLICY_DIR = SLUICE_POLICY_DIR or "/var/lib/sluice/policy" -- the global is set by tests only
local SITE_SCRIPT = SLUICE_SITE_SCRIPT or "/etc/slurm/site.lua" -- likewise
local SAID_DIR = SLUICE_SAID_DIR or "/var/lib/sluice/said" -- likewise
local MOST_SAID = 1048576 -- bytes of a file of refusals; the one before is kept
local FORMAT = 3
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
	["gpu.none"] = "ESLURM_INVALID_GRES",
	["gpu.cpus"] = "ESLURM_ACCOUNTING_POLICY",
	["gpu.memory"] = "ESLURM_ACCOUNTING_POLICY",
	["budget.exhausted"] = "ESLURM_ACCOUNTING_POLICY",
	["partition.gpus"] = "ESLURM_INVALID_PARTITION_NAME",
	["partition.contradicts"] = "ESLURM_INVALID_PARTITION_NAME",
	["class.unknown"] = "ESLURM_INVALID_QOS",
	["class.foreign"] = "ESLURM_INVALID_QOS",
	["class.allowed"] = "ESLURM_INVALID_QOS",
	["walltime.limit"] = "ESLURM_INVALID_TIME_LIMIT",
	["table.missing"] = "ESLURM_ACCESS_DENIED",
}

-- What the bridge is told -------------------------------------------------------------------------

-- Which table is in force: "current", "previous" or "none", and why it isn't the current one. Where there
-- is no such folder, slurmctld's log is all there is.
local function say_table(which, why)
	local path = SAID_DIR .. "/table"
	local file = io.open(path .. ".new", "w")
	if file then
		file:write(which, "\t", (tostring(why or ""):gsub("%s+", " ")), "\n")
		file:close()
		os.rename(path .. ".new", path)
	end
end

-- One line a refusal; who reads them counts.
local function say_refusal(tenant, refusal)
	local rule = type(refusal) == "table" and refusal.rule or "internal"
	local path = SAID_DIR .. "/refusals"
	local file = io.open(path, "a")
	if not file then
		return
	end
	if file:seek("end") > MOST_SAID then
		file:close()
		os.rename(path, path .. ".1")
		file = io.open(path, "a")
	end
	if file then
		file:write(tenant.name, "\t", rule, "\t", tenant.mode, "\n")
		file:close()
	end
end

-- Reading the table --------------------------------------------------------------------------------

local TABLE_KEYS = {
	"administrators", "flavor_partition", "flavor_type", "partition_flavor",
	"partition_alias", "qos_alias", "type_flavor", "node_gpus", "partitions", "types", "strangers",
	"cpu_flavors", "shares", "node_memory", "maintenance", "tenants", "users",
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
		say_table("current")
		return found
	end
	local broken = why
	slurm.log_error("sluice: the tenant table is not usable: %s", tostring(why))
	found, why = load_table(POLICY_DIR .. "/table.previous.lua")
	if found then
		slurm.log_error("sluice: the previous tenant table stays in force")
		say_table("previous", broken)
		return found
	end
	slurm.log_error("sluice: only administrators may submit: %s", tostring(why))
	say_table("none", broken)
	return nil
end

local rules = last_good_table()

