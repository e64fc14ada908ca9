"""Array → bytes codecs (serializers): they turn the elements of a chunk into bytes."""
