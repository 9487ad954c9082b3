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

