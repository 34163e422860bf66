-- question: how do the spans of the group `incoming` come in?
insert into spans by name select * exclude (seq) from incoming;
