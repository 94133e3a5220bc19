# Placeholder for the device build; see stint_add_device_binary.
