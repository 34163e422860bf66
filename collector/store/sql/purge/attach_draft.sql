-- question: how does the new file come beside the old one?
attach $draft as purge_draft;
