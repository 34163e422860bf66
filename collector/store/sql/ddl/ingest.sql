-- question: what became of everything that was sent here? Reasons are 'stored', 'duplicate' and each reason of rejection;
--   spans received are their sum. A refused request counts no spans, since it was not read.
create table ingest (
    reason varchar not null,
    spans bigint not null,
    requests bigint not null
);
