UPDATE consumers SET generation = 1 WHERE generation < 1;
