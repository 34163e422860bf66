-- question: which ids stand in the spans that go and nowhere else, so that the bytes can be searched for them (at most $limit)?
with staying as (
    select span_id, parent_span_id from spans where rowid not in (select place from gone_spans)
)
select span_id
from spans
where rowid in (select place from gone_spans)
    and span_id not in (select span_id from staying)
    and span_id not in (select parent_span_id from staying where parent_span_id is not null)
order by hash(span_id)
limit $limit;
