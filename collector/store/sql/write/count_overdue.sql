-- question: how many calls are said to be pending although their last attempt is open for longer than anybody waits?
select count(*)
from calls
where outcome = 'pending' and last_attempt = 'open' and age = 'within' and $now - last_attempt_ns > $open_timeout;
