"""Where data comes from: services, rigs, files and simulations, and the processes that they need."""
