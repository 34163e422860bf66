-- question: which rules judged the calls?
insert into purge_draft.outcome_rule by name
select * from outcome_rule;
