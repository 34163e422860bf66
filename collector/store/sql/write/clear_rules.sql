-- question: how are the rules of an older release taken away?
delete from outcome_rule;
