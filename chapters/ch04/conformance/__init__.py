"""Known requests and answers of providers, played on 127.0.0.1 to the real clients."""
