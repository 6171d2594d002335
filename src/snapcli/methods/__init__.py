"""Every method that is compared: one table, and what each of them is on a device."""
