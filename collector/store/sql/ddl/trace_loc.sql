-- question: between which span starts does a trace lie? It makes a trace by id a range scan, without an index.
create table trace_loc (
    trace_id varchar not null,
    t0_ns bigint not null,
    t1_ns bigint not null
);
