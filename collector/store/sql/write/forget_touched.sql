-- question: how are the `touched` calls taken away before they are derived again?
delete from calls where t0_ns between $lo and $hi and call_id in (select call_id from touched);
