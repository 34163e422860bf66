-- question: none; plan the following statements of this connection without the optimizer.
pragma disable_optimizer;
