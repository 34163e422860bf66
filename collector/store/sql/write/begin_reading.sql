-- question: how does a reader see one state of the file, and is kept from changing it?
begin transaction read only;
