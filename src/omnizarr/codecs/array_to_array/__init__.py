"""Array → array codecs: they change elements before a serializer turns them into bytes."""
