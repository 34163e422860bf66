-- question: which of the spans at the places from $lo up to $hi stay as they are? They stay in the order of their arrival.
insert into purge_draft.spans by name
select *
from spans
where rowid >= $lo
    and rowid < $hi
    and rowid not in (select place from gone_spans where place >= $lo and place < $hi)
    and rowid not in (select place from heirs);
