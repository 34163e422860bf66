-- question: how do the counts of this transaction come in?
merge into ingest
using (
    select unnest($reasons::varchar[]) as reason, unnest($spans::bigint[]) as spans, unnest($requests::bigint[]) as requests
) as seen
on ingest.reason = seen.reason
when matched then update set spans = ingest.spans + seen.spans, requests = ingest.requests + seen.requests
when not matched then insert (reason, spans, requests) values (seen.reason, seen.spans, seen.requests);
