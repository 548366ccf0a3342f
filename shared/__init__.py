"""What every chapter speaks: messages, protocols, the plan, the offline model, configuration."""
