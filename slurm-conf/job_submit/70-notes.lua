-- What is told beside an acceptance -----------------------------------------------------------------

-- Used-up budgets, the tenant's and those above it; one that blocks refuses.
local function budget_notes(tenant, now)
	local notes, names = {}, { tenant.name, unpack(tenant.ancestors) }
	for _, name in ipairs(names) do
		local used_up = rules.tenants[name].used_up
		if used_up and now < used_up.until_s then
			local words = string.format("tenant %s has used up its budget of %s, which is renewed on %s",
				name, used_up.budget, os.date("!%Y-%m-%d", used_up.until_s))
			if used_up.blocks then
				refuse("budget.exhausted", "%s; wait until then, or have it raised", words)
			end
			notes[#notes + 1] = words .. "; it only warns, the job is taken"
		end
	end
	return notes
end

local function in_the_way(windows, nodes, limit, now)
	for _, window in ipairs(windows) do
		local reaches = limit == INFINITE or window.starts - now < limit * 60
		if reaches and now < window.ends and nodes > window.left then
			return window
		end
	end
end

local function maintenance(partition, window, limit, now)
	local moment = "!%Y-%m-%dT%H:%MZ"
	local words = string.format("partition %s is in maintenance from %s to %s (reservation %s)", partition,
		os.date(moment, window.starts), os.date(moment, window.ends), window.name)
	local minutes = math.floor((window.starts - now) / 60)
	if minutes < 1 then
		return words .. "; the job waits until it is over"
	end
	local asked = limit == INFINITE and "a job without a time limit"
		or string.format("a time limit of %.0f minutes", limit)
	return string.format("%s, and %s reaches into it: the job waits until it is over; with --time=%.0f or less"
		.. " it can run before", words, asked, minutes)
end

-- The maintenance that a job waits for, when it does in each of its partitions.
local function maintenance_note(request, partition, limit, now)
	local told
	for name in partition:gmatch("[^,]+") do
		local window = in_the_way(rules.maintenance[name] or {}, least_nodes(request), limit, now)
		if not window then
			return nil
		end
		told = told or maintenance(name, window, limit, now)
	end
	return told
end

