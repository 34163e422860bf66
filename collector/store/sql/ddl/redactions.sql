-- question: what did the redactor at the door make of the spans that came in? `received` is the sum of `redacted`, `failed`
--   (stored without content) and `rejected` (before the redactor saw them). The counts commit with the spans that they are of,
--   so a request that was refused as a whole is in none of them. Only `failed` has a reason and a sender.
create table redactions (
    outcome varchar not null,
    reason varchar not null,
    service varchar not null,
    scope varchar not null,
    spans bigint not null
);
