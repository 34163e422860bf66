-- question: which runs have an id that starts with $prefix (at most $limit)?
-- optional: limit
select run_id as run from runs where starts_with(run_id, $prefix) order by run_id limit $limit
