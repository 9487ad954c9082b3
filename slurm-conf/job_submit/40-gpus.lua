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

local function least_gpus(request, gpus)
	local nodes = least_nodes(request)
	local sockets = nodes
	if some(request.sockets_per_node) then
		sockets = nodes * request.sockets_per_node
	elseif some(request.ntasks) and some(request.ntasks_per_socket) then
		sockets = math.max(nodes, math.ceil(request.ntasks / request.ntasks_per_socket))
	end
	local factors = {
		tres_per_job = 1, tres_per_node = nodes, tres_per_socket = sockets,
		tres_per_task = least_tasks(request),
	}
	local most = math.max(gpus.derived, request.gpus_counted or 0)
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

