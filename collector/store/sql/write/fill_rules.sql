-- question: how do the rules of this release come in? `rules` is registered by the caller.
insert into outcome_rule by name select * from rules;
