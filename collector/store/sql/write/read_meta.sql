-- question: what does the file say of itself under this key?
select value from meta where key = $key;
