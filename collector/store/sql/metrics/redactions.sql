-- question: did the redactor see every span that came in, and where did it fail?
-- numerator: spans by outcome: redacted, failed (stored without content, by reason, service and scope), rejected before it
-- denominator: `spans` of the outcome received = redacted + failed + rejected
-- grain: outcome, and for failed ones reason, service and scope (empty where not known)
-- excludes: requests that were refused as a whole; spans that were written to the file without passing the collector's door
select outcome, reason, service, scope, spans from redactions order by outcome, spans desc, reason, service, scope
