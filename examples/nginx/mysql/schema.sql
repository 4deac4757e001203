-- The tables of the shop, for MariaDB and MySQL: mariadb shop <schema.sql

CREATE TABLE product (
    id INT UNSIGNED PRIMARY KEY,
    stock INT UNSIGNED NOT NULL,
    token BIGINT NOT NULL DEFAULT 0     -- the largest that the row was shown
) ENGINE = InnoDB;

CREATE TABLE purchase (
    id BIGINT PRIMARY KEY AUTO_INCREMENT,
    product INT UNSIGNED NOT NULL,
    buyer VARCHAR(32) NOT NULL,
    number VARCHAR(32) NOT NULL,        -- of the order, chosen by the buyer's client
    token BIGINT NOT NULL,
    UNIQUE (product, buyer, number)     -- an order that is sent again is carried out once
) ENGINE = InnoDB;

INSERT INTO product (id, stock) VALUES (42, 100);
