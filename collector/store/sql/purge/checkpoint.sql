-- question: how does everything come out of the write-ahead log and into the file?
checkpoint;
