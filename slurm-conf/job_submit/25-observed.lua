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

