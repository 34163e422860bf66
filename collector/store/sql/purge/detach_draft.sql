-- question: how is the new file brought to the disk, and let go of?
detach purge_draft;
