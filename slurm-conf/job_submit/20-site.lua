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

