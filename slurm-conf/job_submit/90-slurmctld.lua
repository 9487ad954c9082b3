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

-- Memory is nil or a number already; what is unset arrives as neither (seen).
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
		cpus_min = number32(desc.min_cpus),
		cpus_per_task = number16(desc.cpus_per_task),
		cpus_per_node = number16(desc.pn_min_cpus),
		cpus_per_gpu = desc.cpus_per_tres,
		memory_per_node = desc.min_mem_per_node,
		memory_per_cpu = desc.min_mem_per_cpu,
		memory_per_gpu = desc.mem_per_tres,
		exclusive = desc.shared == JOB_SHARED_NONE or nil,
		private_nodes = PRIVATE_NODES[desc.shared],
	}
	for _, field in ipairs(TRES_FIELDS) do
		request[field] = desc[field]
	end
	return request
end

local FILLED = { "account", "partition", "qos", "time_limit", unpack(TRES_FIELDS) }

local function tell(decision)
	for _, note in ipairs(decision.notes) do
		slurm.log_user("%s", note)
	end
end

local function submitted(desc)
	if not rules then
		refuse("table.missing", "no tenants are set up yet, so nobody may submit; tell the administrator")
	end
	local decision = judged(request_of(desc))
	if not decision then
		return
	end
	tell(decision)
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

local OF_GPUS = {
	"ntasks", "ntasks_per_node", "ntasks_per_socket", "ntasks_per_gpu", "sockets_per_node", unpack(TRES_FIELDS),
}
local OF_CPUS = { "cpus_min", "cpus_per_task", "cpus_per_node", "cpus_per_gpu" }
local OF_MEMORY = { "memory_per_node", "memory_per_cpu", "memory_per_gpu" }
local OF_NODES = { "nodes_min", "nodes_max" }

local function touches(change, fields)
	for _, field in ipairs(fields) do
		if change[field] then
			return true
		end
	end
	return false
end

-- What slurmctld counted (tres_req_str has the ids of slurmdbd: 1 is cpu, 2 is mem in MiB) holds as long as
-- the change says nothing else about it.
local function keep_counted(request, job, change)
	local gpus, cpus = touches(change, OF_GPUS), touches(change, OF_CPUS)
	local nodes = touches(change, OF_NODES)
	local by_part = asks_gpus(job.tres_per_task) or asks_gpus(job.tres_per_socket)
	local lost = gpus or (nodes and not by_part)
	if not lost then
		request.gpus_counted = tonumber((job.tres_fmt_req_str or ""):match("gres/gpu=(%d+)"))
	end
	local ids = "," .. (job.tres_req_str or "")
	if not (gpus or cpus or nodes) then
		request.cpus_counted = tonumber(ids:match(",1=(%d+)"))
		if not touches(change, OF_MEMORY) then
			request.memory_counted = tonumber(ids:match(",2=(%d+)"))
		end
	end
end

-- A user's change: the job as it would be is judged. Its time limit only when the change names one, or an
-- account or QOS for which another one is the longest; of the rest only what it names is written back.
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
		time_limit = job.time_limit ~= NO_VAL and job.time_limit or nil,
		cpus_min = number32(job.min_cpus),
		cpus_per_gpu = job.cpus_per_tres,
		memory_per_node = job.min_mem_per_node,
		memory_per_cpu = job.min_mem_per_cpu,
		memory_per_gpu = job.mem_per_tres,
		time_settled = not touches(change, { "time_limit", "account", "qos" }),
		budget_settled = not change.account,
	}
	for _, field in ipairs(TRES_FIELDS) do
		request[field] = job[field]
	end
	keep_counted(request, job, change)
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
	tell(decision)
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
