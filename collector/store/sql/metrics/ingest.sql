-- question: what was refused on arrival, and why?
-- numerator: spans and requests by the reason of their refusal
-- denominator: received spans = stored + duplicate + all refused ones
-- grain: reason
-- excludes: requests that never reached the collector
select reason, spans, requests from ingest order by reason
