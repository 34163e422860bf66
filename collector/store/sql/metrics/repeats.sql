-- question: how often is a tool called again with the same arguments in the same run?
-- numerator: `identical` = same run, tool and arguments as an earlier call; `adjacent` = as the call just before;
--   `after_error` = the latest earlier one was in error
-- denominator: `calls`
-- grain: server, tool
-- excludes: calls without an arguments digest are never repeats
-- optional: source
with ordered as (
    select
        server, tool, arguments_digest, is_error, identical_repeat,
        lag(server) over in_run as server_before,
        lag(tool) over in_run as tool_before,
        lag(arguments_digest) over in_run as digest_before,
        lag(is_error) over of_twins as twin_in_error
    from call_facts
    where ($source is null or source = $source)
    window
        in_run as (partition by run_id order by call_ordinal, t0_ns, call_id),
        of_twins as (partition by run_id, server, tool, arguments_digest order by call_ordinal, t0_ns, call_id)
)
select
    server, tool,
    count(*) as calls,
    count(*) filter (where identical_repeat) as identical,
    count(*) filter (
        where identical_repeat and server_before = server and tool_before = tool and digest_before = arguments_digest
    ) as adjacent,
    count(*) filter (where identical_repeat and twin_in_error) as after_error
from ordered
group by 1, 2
order by 4 desc, 1, 2
