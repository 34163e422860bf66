-- question: how is the value of a key taken back before it is said anew?
delete from meta where key = $key;
