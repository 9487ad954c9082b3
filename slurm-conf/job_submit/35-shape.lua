-- How much a job asks at the least ------------------------------------------------------------------

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

local function least_tasks(request)
	if some(request.ntasks) then
		return request.ntasks
	end
	return least_nodes(request) * (some(request.ntasks_per_node) and request.ntasks_per_node or 1)
end

-- The number that "gres/gpu:4" ends with.
local function last_number(text)
	local digits = (text or ""):match("(%d+)$")
	return digits and tonumber(digits:sub(-9)) or 0
end

local function least_cpus(request, gpus)
	return math.max(
		some(request.cpus_min) and request.cpus_min or 1,
		request.cpus_counted or 0,
		least_tasks(request) * (some(request.cpus_per_task) and request.cpus_per_task or 1),
		least_nodes(request) * (some(request.cpus_per_node) and request.cpus_per_node or 1),
		gpus * last_number(request.cpus_per_gpu)
	)
end

-- In MiB; 0 a node is all of the node's.
local function least_memory(request, gpus, node_memory)
	local per_node = request.memory_per_node
	if per_node == 0 then
		per_node = node_memory
	end
	return math.max(
		request.memory_counted or 0,
		least_nodes(request) * (per_node or 0),
		least_cpus(request, gpus) * (request.memory_per_cpu or 0),
		gpus * last_number(request.memory_per_gpu)
	)
end

