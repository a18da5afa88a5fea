-- SPDX-License-Identifier: MIT
-- A replica that is down without a word (it hangs, or its host is gone) has
-- shut what it still has in hand, and HAProxy asks that again elsewhere. Not
-- when it is marked down, as `on-marked-down shutdown-sessions` would: of what
-- is just connecting then, nothing would be asked again. Who says that he is
-- not ready (L7STS) drains, and ends his work himself.
local STEP_MS = 200
local WAIT_MS = 1200    -- more than `timeout connect`: nothing connects now

core.register_task(function()
    local down_ms = {}
    while true do
        core.msleep(STEP_MS)
        for name, server in pairs(core.backends.replicas.servers) do
            local now = server:get_stats()
            local hangs = now.status:find("^DOWN")
                and now.check_status ~= "L7STS"
            down_ms[name] = hangs and (down_ms[name] or 0) + STEP_MS or 0
            if down_ms[name] >= WAIT_MS then
                server:shut_sess()
            end
        end
    end
end)
