"""Real servers for the tests, on loopback ports: moto for S3, Azurite for Azure, rclone for plain HTTP; and a proxy
that makes them slow and faulty."""
