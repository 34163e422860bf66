-- question: which outcome does each combination of evidence mean? Filled from model.outcome (a test compares every row).
create table outcome_rule (
    gate varchar not null,
    attempt varchar not null,
    last_effect varchar not null,
    earlier_effect varchar not null,
    observation varchar not null,
    access varchar not null,
    settled varchar not null,
    age varchar not null,
    outcome varchar not null
);
