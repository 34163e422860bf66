-- question: how does the file say something of itself?
insert into meta values ($key, $value);
