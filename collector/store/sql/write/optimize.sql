-- question: none; plan the following statements of this connection as usual.
pragma enable_optimizer;
