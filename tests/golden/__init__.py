"""The proof chain: TFLite reference == numpy == C on the host == C on the target."""
