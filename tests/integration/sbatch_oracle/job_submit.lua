-- Writes down what sbatch sent and takes no job: the oracle of the script parser's tests. Components of a
-- het job are taken, since slurmctld shows one only when the one before it was.
-- Lua can't list a job's environment, so the variables of interest are asked for by name.
local ENVIRONMENT = {
  "ZZ_KEEP", "ZZ_B", "ZZ_THREADS", "ZZ_L", "ZZ_N", "ZZ_P", "SLURM_SUBMIT_DIR", "SLURM_SUBMIT_HOST",
  "SLURM_PRIO_PROCESS", "SLURM_UMASK", "SLURM_EXPORT_ENV", "SLURM_GET_USER_ENV", "SLURM_CPUS_PER_TASK",
  "SLURM_DISTRIBUTION", "SLURM_MEM_BIND", "SLURM_MEM_BIND_VERBOSE", "SLURM_NTASKS", "SLURM_NPROCS",
  "SLURM_NTASKS_PER_CORE", "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_NODE", "SLURM_NTASKS_PER_SOCKET",
  "SLURM_NTASKS_PER_TRES", "SLURM_DIST_PLANESIZE", "SLURM_THREADS_PER_CORE", "SLURM_CPUS_PER_GPU",
  "SLURM_GPUS", "SLURM_GPU_FREQ", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_SOCKET", "SLURM_MEM_PER_GPU",
  "SLURM_TRES_PER_TASK", "SLURM_TRES_BIND", "SLURM_HINT", "SLURM_JOB_DEPENDENCY", "SLURM_CONTAINER",
  "SLURM_CONTAINER_ID", "SLURM_ARBITRARY_NODELIST", "OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args",
  "HYDRA_BOOTSTRAP", "HYDRA_LAUNCHER_EXTRA_ARGS", "I_MPI_HYDRA_BOOTSTRAP",
  "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"
}
local FIELDS = {
  "account", "acctg_freq", "array_inx", "batch_features", "begin_time", "burst_buffer", "clusters",
  "comment", "container", "contiguous", "core_spec", "cores_per_socket", "cpus_per_task", "cpus_per_tres",
  "delay_boot", "dependency", "exc_nodes", "features", "licenses", "mail_type", "mail_user", "max_nodes",
  "mcs_label", "mem_per_tres", "min_cpus", "min_mem_per_node", "min_mem_per_cpu", "min_nodes", "name",
  "network", "nice", "ntasks_per_core", "ntasks_per_node", "ntasks_per_socket", "ntasks_per_tres",
  "num_tasks", "partition", "prefer", "pn_min_cpus", "pn_min_tmp_disk", "priority", "qos", "req_nodes",
  "req_switch", "requeue", "reservation", "shared", "sockets_per_node", "std_err", "std_in", "std_out",
  "thread_spec", "threads_per_core", "time_limit", "time_min", "tres_bind", "tres_freq", "tres_per_job",
  "tres_per_node", "tres_per_socket", "tres_per_task", "wait4switch", "work_dir", "wckey"
}

local NO_VAL = 4294967294
local plain = #ENVIRONMENT
for group = 0, 3 do
  for index = 1, plain do
    ENVIRONMENT[#ENVIRONMENT + 1] = ENVIRONMENT[index] .. "_HET_GROUP_" .. group
  end
end

local function json(value)
  if type(value) == "number" then return string.format("%.0f", value) end
  local text = tostring(value):gsub('[%c"\\\127-\255]', function(c) return string.format("\\u%04x", c:byte()) end)
  return '"' .. text .. '"'
end

local function object(names, of)
  local found = {}
  for _, name in ipairs(names) do
    local known, value = pcall(function() return of[name] end)
    if known and value ~= nil then found[#found + 1] = json(name) .. ":" .. json(value) end
  end
  return table.concat(found, ",")
end

function slurm_job_submit(desc, parts, uid)
  local file = io.open("/tmp/sent.jsonl", "a")
  file:write("{", object(FIELDS, desc), ',"environment":{', object(ENVIRONMENT, desc.environment or {}), "}}\n")
  file:close()
  if desc.het_job_offset ~= nil and desc.het_job_offset ~= NO_VAL then return slurm.SUCCESS end
  return slurm.ERROR
end

function slurm_job_modify(desc, rec, parts, uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
