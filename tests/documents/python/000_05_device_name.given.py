device_id = 0
