-- question: which toolsets are new with the group `incoming`?
insert into toolsets by name
select toolset_digest, start_ns as first_seen_ns from incoming where record = 'toolset' and toolset_digest is not null;
