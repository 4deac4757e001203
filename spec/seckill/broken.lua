error "on purpose"
