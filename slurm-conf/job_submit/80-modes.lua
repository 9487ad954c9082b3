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
	local fine, decision = pcall(decide, request)
	if not fine then say_refusal(tenant, decision) end
	if tenant.mode == "enforce" then
		if not fine then
			error(decision)
		end
		return decision
	end
	if not fine then
		note(tenant, decision)
	end
	return nil
end

